/** Integer arithmetic of the shell: `$((…))` and `expr`. */

export class ArithmeticFault extends Error {}

type Operation = (left: number, right: number) => number;

const truth = (value: boolean) => (value ? 1 : 0);
const divided: Operation = (left, right) => {
  if (right === 0) throw new ArithmeticFault("division by zero");
  return Math.trunc(left / right);
};
const remainder: Operation = (left, right) => {
  if (right === 0) throw new ArithmeticFault("division by zero");
  return left % right;
};

/** Binary operators by precedence, lowest first. */
const levels: readonly Readonly<Record<string, Operation>>[] = [
  { "||": (left, right) => truth(left !== 0 || right !== 0) },
  { "&&": (left, right) => truth(left !== 0 && right !== 0) },
  { "==": (left, right) => truth(left === right), "!=": (left, right) => truth(left !== right) },
  {
    "<": (left, right) => truth(left < right),
    "<=": (left, right) => truth(left <= right),
    ">": (left, right) => truth(left > right),
    ">=": (left, right) => truth(left >= right),
  },
  { "+": (left, right) => left + right, "-": (left, right) => left - right },
  { "*": (left, right) => left * right, "/": divided, "%": remainder },
];

/** Maximum nesting of parentheses and signs. */
const maxDepth = 32;

/**
 * Evaluates an expression. Variables that are not numbers count as 0.
 * @throws ArithmeticFault
 */
export function evaluate(expression: string, variable: (name: string) => string): number {
  const tokens = expression.match(/\d+|\w+|[<>=!]=|&&|\|\||\S/g) ?? [];
  let at = 0;
  const primary = (depth: number): number => {
    if (depth > maxDepth) throw new ArithmeticFault("nested too deeply");
    const token = tokens[at++];
    if (token === "(") {
      const value = level(0, depth + 1);
      if (tokens[at++] !== ")") throw new ArithmeticFault("missing ')'");
      return value;
    }
    if (token === "-") return -primary(depth + 1);
    if (token === "+") return primary(depth + 1);
    if (token === "!") return truth(primary(depth + 1) === 0);
    if (token !== undefined && /^\d+$/.test(token)) return Number(token);
    if (token === undefined || !/^[A-Za-z_]\w*$/.test(token))
      throw new ArithmeticFault("syntax error");
    const value = variable(token).trim();
    return /^-?\d+$/.test(value) ? Number(value) : 0;
  };
  const level = (index: number, depth: number): number => {
    const operations = levels[index];
    if (operations === undefined) return primary(depth);
    let value = level(index + 1, depth);
    for (;;) {
      const operation = operations[tokens[at] ?? ""];
      if (operation === undefined) return value;
      at++;
      value = operation(value, level(index + 1, depth));
    }
  };
  if (tokens.length === 0) return 0;
  const value = level(0, 0);
  if (at < tokens.length) throw new ArithmeticFault("syntax error");
  return value;
}
