/** A Stage that cannot be used: an expression, a template or a field that is not supported. */
export class StageFault extends Error {
  override readonly name = "StageFault";
}
