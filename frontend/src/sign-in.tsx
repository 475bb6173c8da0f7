/** The page in front of all others when nobody is signed in. */
import { useState } from "preact/hooks";
import { ApiError } from "./api/client";
import { useTitle } from "./ui/hooks";
import { Failure } from "./ui/parts";

export function SignIn({ error, onSignIn }: { error: unknown; onSignIn: (token: string) => Promise<void> }) {
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  useTitle("Sign in");
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    await onSignIn(token);
    setBusy(false);
  };
  const refused = error instanceof ApiError && [401, 403].includes(error.status);
  return (
    <div class="page page-narrow sign-in">
      <h1>Sign in</h1>
      <p>
        When it starts, the service prints an address that signs you in: <code>http://…/#token=…</code>. Open that
        address, or paste its token here.
      </p>
      {error != null && (
        <Failure
          title={refused ? "This token is not accepted" : "Signing in failed"}
          error={error}
          hint={
            refused
              ? "The service made its token at its first start and keeps it. Ask whoever runs the service."
              : undefined
          }
        />
      )}
      <form class="panel form" onSubmit={submit}>
        <label class="field">
          <span class="field-label">Token</span>
          <input
            type="password"
            autoComplete="current-password"
            required
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="button button-primary" disabled={busy || token.trim() === ""}>
          {busy ? "Signing in …" : "Sign in"}
        </button>
      </form>
    </div>
  );
}
