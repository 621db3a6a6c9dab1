/** A failed webhook call; the message is for clients. */
export class CallFault extends Error {
  override readonly name = "CallFault";
}
