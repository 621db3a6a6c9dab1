/** A text that is no template, or that uses a part of Go's templates that is not supported. */
export class TemplateFault extends Error {
  override readonly name = "TemplateFault";
}

/** An error of a template on one object, such as an index out of range. */
export class RenderFault extends Error {
  override readonly name = "RenderFault";
}
