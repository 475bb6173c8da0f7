/**
 * Uploading a design's files with progress. XMLHttpRequest, because fetch does not report how much of a body is sent.
 */
import { API, ApiError, errorFrom, noteError } from "./client";
import type { DesignRead } from "./types";

export interface Upload {
  readonly done: Promise<DesignRead>;
  cancel(): void;
}

export interface UploadForm {
  readonly files: readonly File[];
  readonly name: string;
  /** Of LEF/DEF: what is PLACED stays where it is. */
  readonly lockPlaced: boolean;
  /** Of Bookshelf: nodes higher than this are macros; empty = than a row. */
  readonly macroHeight: string;
}

/** Sends the files as one design. `onProgress` gets the share of the bytes sent, 0–1. A cancelled upload rejects with AbortError. */
export function uploadDesign(sent: UploadForm, onProgress: (share: number) => void): Upload {
  const { files, name, lockPlaced, macroHeight } = sent;
  const form = new FormData();
  if (name) form.append("name", name);
  if (lockPlaced) form.append("lock_placed", "true");
  if (macroHeight) form.append("macro_height", macroHeight);
  for (const file of files) form.append("files", file, file.name);
  const request = new XMLHttpRequest();
  const done = new Promise<DesignRead>((resolve, reject) => {
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) onProgress(event.loaded / event.total);
    });
    request.addEventListener("load", () => {
      if (request.status >= 200 && request.status < 300) return resolve(JSON.parse(request.responseText) as DesignRead);
      const error = errorFrom(request.status, request.responseText);
      noteError(error);
      return reject(error);
    });
    request.addEventListener("error", () =>
      reject(new ApiError(0, "The connection broke during the upload. Nothing was stored; try again.")),
    );
    request.addEventListener("abort", () => reject(new DOMException("Upload cancelled", "AbortError")));
  });
  request.open("POST", `${API}/designs`);
  request.setRequestHeader("Accept", "application/json");
  request.send(form);
  return { done, cancel: () => request.abort() };
}
