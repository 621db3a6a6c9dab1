/** A recording that cannot be made as asked; the message is shown to the user as it is. */
export class RecordError extends Error {
  override readonly name = "RecordError";
}
