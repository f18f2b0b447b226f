import {
  type BinaryExpression,
  isArrowFunction,
  isAwaitExpression,
  isBinaryExpression,
  isBindingElement,
  isBlock,
  isCallExpression,
  isExpressionStatement,
  isFunctionDeclaration,
  isFunctionExpression,
  isIdentifier,
  isNewExpression,
  isVariableDeclaration,
  isVariableStatement,
  type Node,
  SyntaxKind,
} from 'typescript/unstable/ast';
import type { OwnFile } from './program.ts';

/*
 * Functions that use a variable of a line below them: they work only because something else runs first. Two idioms of the platform are none of that:
 * a listener or timer that ends itself (`const timer = setTimeout(…timer…)`) uses no line below, and what settles a promise must end the listeners
 * and timers that settle it, and they must name it, so that one of the two is always below (`new Promise((resolve) => { … })`).
 */

/** Each with its line. */
export function belowIn({ source, types }: OwnFile): readonly string[] {
  const found: string[] = [];
  const visit = (node: Node): void => {
    if (isNewExpression(node) && isIdentifier(node.expression) && node.expression.text === 'Promise') return;
    if (isBlock(node)) {
      for (const statement of node.statements) {
        if (!isVariableStatement(statement)) continue;
        for (const name of namesIn(statement.declarationList)) {
          const from = isEmpty(name) ? statementThatSets(name, node.statements) : statement;
          if (from) found.push(...usesAbove(name, from, node));
        }
      }
    }
    node.forEachChild(visit);
  };
  const usesAbove = (name: Node & { readonly text: string }, statement: Node, block: Node): readonly string[] => {
    const uses: string[] = [];
    const look = (node: Node, isLater: boolean): void => {
      if (node.pos >= statement.pos) return;
      const later = isLater || isArrowFunction(node) || isFunctionExpression(node) || isFunctionDeclaration(node);
      if (later && isIdentifier(node) && node.text === name.text && isSame(node, name)) {
        uses.push(`${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}: ${name.text}`);
      }
      node.forEachChild((child) => look(child, later));
    };
    block.forEachChild((child) => look(child, false));
    return uses;
  };
  /** The first statement of the block that gives an empty variable its value. */
  const statementThatSets = (name: Node, statements: readonly Node[]): Node | undefined =>
    statements.find((one) => isExpressionStatement(one) && isBinaryExpression(one.expression) && isSetting(one.expression, name));
  const isSetting = ({ left, operatorToken, right }: BinaryExpression, name: Node): boolean =>
    operatorToken.kind === SyntaxKind.EqualsToken && isIdentifier(left) && isSame(left, name) && isMade(right);
  /** What `new` or a function of the project makes; a timer or a time is a fact that comes later. */
  const isMade = (value: Node): boolean => {
    if (isAwaitExpression(value)) return isMade(value.expression);
    return isNewExpression(value) || (isCallExpression(value) && types.ownDeclaration(types.symbolAt(value.expression)) !== undefined);
  };
  const isSame = (use: Node, name: Node): boolean => {
    const [of, declared] = [types.checker.getSymbolAtLocation(use), types.checker.getSymbolAtLocation(name)];
    return of !== undefined && of.id === declared?.id;
  };
  visit(source);
  return found;
}

/** `let later;`: declared here, and set by a statement below. */
function isEmpty({ parent }: Node): boolean {
  return isVariableDeclaration(parent) && parent.initializer === undefined;
}

/** The names that a list of declarations declares, also by a pattern. */
function namesIn(list: Node): readonly (Node & { readonly text: string })[] {
  const found: (Node & { readonly text: string })[] = [];
  const name = (node: Node): void => {
    if (isIdentifier(node)) found.push(node);
    else node.forEachChild((child) => void (isBindingElement(child) && child.name && name(child.name)));
  };
  list.forEachChild((declaration) => {
    if ('name' in declaration) name(declaration.name as Node);
  });
  return found;
}
