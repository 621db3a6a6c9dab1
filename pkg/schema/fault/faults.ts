/** JSON text that is no JSON; the message is what Go's encoding/json says. */
export class JsonFault extends Error {
  override readonly name = "JsonFault";
}

/** A body of the wrong shape for its struct; the message is what Go's decoder says. */
export class DecodeFault extends Error {
  override readonly name = "DecodeFault";
}
