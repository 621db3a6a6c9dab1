/** Hosts of the reserved domain `invalid`, and words for things that are not there. */
const missing =
  /^[^/]*\.invalid(:\d+)?\/|^invalid\.|(^|[/:._-])(non-?existent|does-?not-?exist|no-such-image)([/:._-]|$)/;

/** Whether no registry can have the image, as its name tells. Pulls of such images fail. */
export function isMissingImage(image: string): boolean {
  return missing.test(image);
}
