/** An unusable Stage: an invalid or unsupported expression, template or field. */
export class StageFault extends Error {
  override readonly name = "StageFault";
}
