/** An invalid template, or one that uses unsupported features of Go's templates. */
export class TemplateFault extends Error {
  override readonly name = "TemplateFault";
}

/** An error of a template on one object, such as an index out of range. */
export class RenderFault extends Error {
  override readonly name = "RenderFault";
}
