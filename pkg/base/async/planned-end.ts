/**
 * Reason of aborts that end work as planned, for `AbortController.abort()`: without one each abort
 * makes a DOMException with a stack trace, which takes longer than the abort itself.
 */
export const plannedEnd = new DOMException("This operation was aborted", "AbortError");
