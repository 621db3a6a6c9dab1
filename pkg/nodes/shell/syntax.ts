/** The part of the POSIX shell's language that simulated containers understand. */

/** Lists of commands separated by `;` or line ends. */
export type Script = readonly AndOr[];

export interface AndOr {
  readonly first: Pipeline;
  readonly rest: readonly { readonly operator: "&&" | "||"; readonly pipeline: Pipeline }[];
}

export interface Pipeline {
  readonly isNegated: boolean;
  readonly commands: readonly Command[];
}

export type Command = SimpleCommand | CompoundCommand;

export interface SimpleCommand {
  readonly kind: "simple";
  readonly assignments: readonly { readonly name: string; readonly value: Word }[];
  readonly words: readonly Word[];
  readonly redirects: readonly Redirect[];
}

export interface CompoundCommand {
  readonly kind: "compound";
  readonly body: Compound;
  readonly redirects: readonly Redirect[];
}

export type Compound =
  | { readonly kind: "group"; readonly script: Script; readonly isSubshell: boolean }
  | {
      readonly kind: "if";
      readonly branches: readonly { readonly condition: Script; readonly script: Script }[];
      readonly otherwise: Script | undefined;
    }
  | {
      readonly kind: "loop";
      readonly condition: Script;
      readonly script: Script;
      /** Status of the condition at which the loop goes on. */
      readonly goesOnIf: "success" | "failure";
    }
  | {
      readonly kind: "for";
      readonly name: string;
      readonly words: readonly Word[];
      readonly script: Script;
    };

export interface Redirect {
  readonly descriptor: 0 | 1 | 2;
  readonly operator: ">" | ">>" | "<" | ">&";
  readonly target: Word;
}

/** Pieces that form one word, or several where unquoted ones are split. */
export type Word = readonly Piece[];

export type Piece = { readonly isQuoted: boolean } & (
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "variable"; readonly name: string; readonly operator?: VariableOperator }
  | { readonly kind: "command"; readonly script: Script }
  | { readonly kind: "arithmetic"; readonly expression: Word }
);

/** `${NAME-word}` and similar expansions; `:` treats empty values as unset. */
export interface VariableOperator {
  readonly sign: "-" | "+" | "=" | "?";
  readonly emptyIsUnset: boolean;
  readonly word: Word;
}

/** A script with a syntax error, or with unsupported syntax. */
export class SyntaxFault extends Error {}
