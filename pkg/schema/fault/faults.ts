/** Malformed JSON; the message is that of Go's encoding/json. */
export class JsonFault extends Error {
  override readonly name = "JsonFault";
}

/** A value that does not match its struct; the message is that of Go's decoder. */
export class DecodeFault extends Error {
  override readonly name = "DecodeFault";
}

/** Input with more values than the decoder allows. */
export class TooManyValues extends Error {
  override readonly name = "TooManyValues";
  constructor() {
    super("the object has too many fields, map keys and list elements");
  }
}
