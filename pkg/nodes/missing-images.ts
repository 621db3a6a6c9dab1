/** Hosts in the reserved domain `invalid`, and names or tags that say that the image does not exist. */
const missing =
  /^[^/]*\.invalid(:\d+)?\/|^invalid\.|(^|[/:._-])(non-?existent|does-?not-?exist|no-such-image)([/:._-]|$)/;
const missingTag = /:404$/;

/** Whether the image's name says that it does not exist; pulls of such images fail. */
export function isMissingImage(image: string): boolean {
  return missing.test(image) || missingTag.test(image);
}
