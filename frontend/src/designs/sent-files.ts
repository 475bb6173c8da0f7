/** The form that made a design, for as long as the page is open: its files can be sent again, to be read otherwise. */
import type { UploadForm } from "../api/upload";

let last: { readonly designId: string; readonly form: UploadForm } | null = null;

export function remember(designId: string, form: UploadForm): void {
  last = { designId, form };
}

export const sentForm = (designId: string): UploadForm | null => (last?.designId === designId ? last.form : null);
