/**
 * Maximum number of reported errors and of unknown field paths per object, which bounds the size of
 * the response.
 */
export const maxErrors = 1_000;
