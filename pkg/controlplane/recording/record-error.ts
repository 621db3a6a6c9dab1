/** A recording that cannot be made; the message is shown to the user unchanged. */
export class RecordError extends Error {
  override readonly name = "RecordError";
}
