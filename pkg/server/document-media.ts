/** Which form of a document a client gets: the Accept header against the media types of documents. */

export interface AcceptClause {
  /** As sent; Kubernetes compares media types with regard to case. */
  readonly media: string;
  readonly quality: number;
  readonly parameters: ReadonlyMap<string, string>;
}

/** The clauses of an Accept header, the most wanted first; an absent or empty header wants anything. */
export function acceptClauses(accept: string | undefined): readonly AcceptClause[] {
  if (accept === undefined || accept === "") return [clause("*/*")];
  return accept
    .split(",")
    .map((text) => clause(text))
    .sort((a, b) => b.quality - a.quality);
}

function clause(text: string): AcceptClause {
  const [media = "", ...rest] = text.split(";");
  const parameters = new Map<string, string>();
  for (const pair of rest) {
    const at = pair.indexOf("=");
    if (at > 0) parameters.set(pair.slice(0, at).trim(), pair.slice(at + 1).trim());
  }
  const quality = Number(parameters.get("q") ?? 1);
  return { media: media.trim(), quality: Number.isNaN(quality) ? 1 : quality, parameters };
}

/** The first of `offered` that a clause takes: exactly, by its main type, or as anything. */
export function takenBy(wanted: AcceptClause, offered: readonly string[]): string | undefined {
  if (wanted.media === "*/*") return offered[0];
  if (!wanted.media.endsWith("/*")) return offered.find((media) => media === wanted.media);
  const prefix = wanted.media.slice(0, -1);
  return offered.find((media) => media.startsWith(prefix));
}
