/** A program, an option, a file or a part of the shell's language that simulated containers do not have. */
export class NotSimulated extends Error {}
