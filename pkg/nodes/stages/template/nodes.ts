/** The parts of a parsed template. */

export type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "action"; readonly pipe: Pipe; readonly line: number }
  | Branch
  | { readonly type: "break" }
  | { readonly type: "continue" };

/** `if`, `with` and `range`. */
export interface Branch {
  readonly type: "if" | "with" | "range";
  readonly pipe: Pipe;
  readonly line: number;
  readonly body: readonly Part[];
  readonly otherwise: readonly Part[];
}

/** `$a := command | command`. */
export interface Pipe {
  /** Names of assigned variables; two in `range $index, $element := …`. */
  readonly variables: readonly string[];
  /** Whether existing variables are assigned: `=`. */
  readonly assigns: boolean;
  readonly commands: readonly Command[];
}

/** An operand, or a function with its arguments. */
export interface Command {
  readonly operands: readonly Operand[];
}

export type Operand =
  | { readonly type: "constant"; readonly value: unknown }
  | { readonly type: "function"; readonly name: string }
  /** Fields of dot, of a variable or of a pipe in parentheses; no base = dot. */
  | {
      readonly type: "chain";
      readonly base: { readonly variable: string } | { readonly pipe: Pipe } | undefined;
      readonly fields: readonly string[];
    };
