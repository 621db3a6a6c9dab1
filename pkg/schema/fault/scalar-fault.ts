/**
 * A JSON value that a scalar's codec rejects. A plain message is used unchanged (`parsing time …`); with
 * `mismatch` the JSON type is wrong, and the decoder adds the path:
 * `json: cannot unmarshal <value> into Go struct field <path> of type <goType>`.
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
