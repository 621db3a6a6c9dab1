/**
 * Documents that are folded from the catalog and served as bytes: discovery and OpenAPI. Pure:
 * the HTTP stages look at `methods`, write `status`, `headers` and `body`, and know nothing else
 * about them.
 */
export interface DocumentResponse<Body = Uint8Array> {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Record<string, string>;
  readonly body: Body;
  /**
   * "get": every other method is answered 405; "any": the document answers whatever the method
   * is.
   */
  readonly methods: "get" | "any";
}

/** Header values of a request as far as OpenAPI documents look at them; names in lower case. */
export type DocumentHeaders = Readonly<Record<string, string | undefined>>;
