/** An unsupported program, option, file or shell feature. */
export class NotSimulated extends Error {}
