/** The response to a request for a discovery or OpenAPI document. */
export interface DocumentResponse<Body = Uint8Array> {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Record<string, string>;
  readonly body: Body;
  /** "get": other methods are rejected with 405; "any": the document is served for every method. */
  readonly methods: "get" | "any";
}

/** Request headers that select an OpenAPI document, by lower-case name. */
export type DocumentHeaders = Readonly<Record<string, string | undefined>>;
