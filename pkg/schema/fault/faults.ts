/** JSON text that is no JSON; the message is what Go's encoding/json says. */
export class JsonFault extends Error {
  override readonly name = "JsonFault";
}

/** A body of the wrong shape for its struct; the message is what Go's decoder says. */
export class DecodeFault extends Error {
  override readonly name = "DecodeFault";
}

/** Input that would take too long to work on: more values than its reader allows. */
export class TooManyValues extends Error {
  override readonly name = "TooManyValues";
  constructor() {
    super("the object has too many fields, map keys and list elements");
  }
}
