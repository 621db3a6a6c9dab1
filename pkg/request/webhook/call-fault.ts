/** A failed call of a webhook, worded for clients. */
export class CallFault extends Error {
  override readonly name = "CallFault";
}
