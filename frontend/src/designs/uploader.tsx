/** Choosing and sending a design's files: by dropping them anywhere on the panel or by the button. */
import { useRef, useState } from "preact/hooks";
import { type Upload, uploadDesign } from "../api/upload";
import { designPath, navigate } from "../router";
import { bytes, percent } from "../ui/format";
import { Icon } from "../ui/icon";
import { Failure, ProgressBar } from "../ui/parts";
import { ACCEPT, addFiles, hasDef, hasNodes, proposedName, selectionProblem } from "./files";
import { remember } from "./sent-files";

export function Uploader() {
  const [files, setFiles] = useState<File[]>([]);
  const [name, setName] = useState<string | null>(null); // null: as proposed
  const [lockPlaced, setLockPlaced] = useState(false);
  const [macroHeight, setMacroHeight] = useState("");
  const [over, setOver] = useState(false);
  const [share, setShare] = useState<number | null>(null);
  const [error, setError] = useState<unknown>(null);
  const upload = useRef<Upload | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const problem = selectionProblem(files);
  const total = files.reduce((sum, file) => sum + file.size, 0);
  const sending = share !== null;

  const add = (added: FileList | null | undefined) => {
    if (sending || !added || added.length === 0) return;
    setFiles((old) => addFiles(old, added));
    setError(null);
  };

  const send = async () => {
    setError(null);
    setShare(0);
    const form = {
      files,
      name: (name ?? proposedName(files)).trim(),
      lockPlaced: lockPlaced && hasDef(files),
      macroHeight: hasNodes(files) ? macroHeight.trim() : "",
    };
    upload.current = uploadDesign(form, setShare);
    try {
      const design = await upload.current.done;
      remember(design.id, form);
      navigate(designPath(design.id));
    } catch (failure) {
      if (!(failure instanceof DOMException && failure.name === "AbortError")) setError(failure);
    } finally {
      setShare(null);
      upload.current = null;
    }
  };

  return (
    <section class="panel uploader" aria-labelledby="upload-title">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: dropping is the mouse's way; the button beside it is the keyboard's */}
      <div
        class={`drop${over ? " drop-over" : ""}`}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          add(event.dataTransfer?.files);
        }}
      >
        <span class="drop-icon" aria-hidden="true">
          <Icon name="upload" />
        </span>
        <h2 id="upload-title">Upload a design</h2>
        <p class="muted">
          Drop a design here: LEF and DEF, Bookshelf, or a Circuit Training netlist with its <code>.plc</code>, and
          constraints (<code>.json</code>) if there are any. All may be gzipped.
        </p>
        <input
          ref={input}
          class="visually-hidden"
          type="file"
          multiple
          accept={ACCEPT}
          tabIndex={-1}
          aria-hidden="true"
          data-testid="file-input"
          onChange={(event) => {
            add(event.currentTarget.files);
            event.currentTarget.value = "";
          }}
        />
        <button type="button" class="button" disabled={sending} onClick={() => input.current?.click()}>
          Choose files
        </button>
      </div>

      {files.length > 0 && (
        <div class="staged">
          <ul class="file-list" aria-label="Files to upload">
            {files.map((file) => (
              <li key={file.name}>
                <Icon name="file" />
                <code>{file.name}</code>
                <span class="muted num">{bytes(file.size)}</span>
                <button
                  type="button"
                  class="icon-button"
                  disabled={sending}
                  onClick={() => setFiles(files.filter((other) => other !== file))}
                  aria-label={`Remove ${file.name}`}
                >
                  <Icon name="close" />
                </button>
              </li>
            ))}
          </ul>
          <label class="field">
            <span class="field-label">Name of the design</span>
            <input
              maxLength={200}
              disabled={sending}
              value={name ?? proposedName(files)}
              onInput={(event) => setName(event.currentTarget.value)}
            />
          </label>
          {hasDef(files) && (
            <label class="check">
              <input
                type="checkbox"
                disabled={sending}
                checked={lockPlaced}
                aria-describedby="lock-placed-help"
                onChange={(event) => setLockPlaced(event.currentTarget.checked)}
              />
              Treat PLACED as locked
              <span class="help" id="lock-placed-help">
                Otherwise PLACED is a hint to start from, and only FIXED and COVER stay where they are.
              </span>
            </label>
          )}
          {hasNodes(files) && (
            <label class="field">
              <span class="field-label">
                Macros are nodes higher than <span class="muted">(optional)</span>
              </span>
              <input
                inputMode="decimal"
                placeholder="a row"
                disabled={sending}
                value={macroHeight}
                aria-describedby="macro-height-help"
                onInput={(event) => setMacroHeight(event.currentTarget.value)}
              />
              <span class="help" id="macro-height-help">
                In the files' units. The preview shows how many macros each height finds.
              </span>
            </label>
          )}
          {problem && (
            <p class="hint-warn" role="status">
              <Icon name="warning" /> {problem}
            </p>
          )}
          {sending ? (
            <div class="sending">
              <ProgressBar share={share} label="Upload" />
              <span class="num" role="status">
                {share < 1 ? `${percent(share, 0)} of ${bytes(total)}` : "Sent; the service is storing the files …"}
              </span>
              <button type="button" class="button button-small" onClick={() => upload.current?.cancel()}>
                Cancel upload
              </button>
            </div>
          ) : (
            <button type="button" class="button button-primary" disabled={problem !== null} onClick={send}>
              <Icon name="upload" /> Upload {files.length === 1 ? "1 file" : `${files.length} files`} ({bytes(total)})
            </button>
          )}
        </div>
      )}
      {error != null && (
        <Failure
          title="The upload failed"
          error={error}
          hint="Your selection is kept. Correct the files and upload again."
          onDismiss={() => setError(null)}
        />
      )}
    </section>
  );
}
