/**
 * A JSON value that a scalar's decoder refuses. A plain message stands as it is (`parsing time …`);
 * with `mismatch` the value had the wrong JSON type and the decoder, which knows where it is, words
 * it: `json: cannot unmarshal <value> into Go struct field <place> of type <goType>`.
 */
export class ScalarFault extends Error {
  override readonly name = "ScalarFault";
  constructor(
    message: string,
    readonly mismatch?: {
      /** `number`, `number 1.5`, `bool`, `string`, `object`, `array`. */
      readonly value: string;
      readonly goType: string;
    },
  ) {
    super(message);
  }

  static mismatched(value: string, goType: string): ScalarFault {
    const message = `json: cannot unmarshal ${value} into Go value of type ${goType}`;
    return new ScalarFault(message, { value, goType });
  }
}
