import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/pages.css";
import { render } from "preact";
import { App } from "./app";

render(<App />, document.getElementById("app")!);
