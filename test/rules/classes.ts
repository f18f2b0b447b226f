import {
  type CallExpression,
  isArrayLiteralExpression,
  isArrowFunction,
  isAsExpression,
  isAwaitExpression,
  isBinaryExpression,
  isCallExpression,
  isClassDeclaration,
  isClassExpression,
  isConditionalExpression,
  isFunctionDeclaration,
  isFunctionExpression,
  isGetAccessorDeclaration,
  isIdentifier,
  isMethodDeclaration,
  isNewExpression,
  isNonNullExpression,
  isObjectLiteralExpression,
  isParenthesizedExpression,
  isPostfixUnaryExpression,
  isPrefixUnaryExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isPropertyDeclaration,
  isPropertySignatureDeclaration,
  isReturnStatement,
  isSetAccessorDeclaration,
  isShorthandPropertyAssignment,
  isSpreadAssignment,
  isSpreadElement,
  isVariableDeclaration,
  isVariableStatement,
  type NewExpression,
  type Node,
  type PropertyDeclaration,
  type PropertySignatureDeclaration,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { SignatureKind, type Symbol as TsSymbol, type Type } from 'typescript/unstable/sync';
import type { ClassNode, OwnClass, Types } from './program.ts';

/*
 * Closures over itself that a class hands to its own parts.
 *
 * A part is what the class makes and keeps: what `new` makes of a class of the project (kept or not), and what a function or method of the project
 * returns (a factory, with or without `await`) when it is an object with methods and ends up in a field: assigned, or put into a collection or a
 * `Lifetime` held by a field, directly or through a variable. What is handed over are the arguments, with what stands in object and array literals,
 * in variables of the method and in what the class's own methods return for them. It counts once for each arrow function of any length that uses
 * `this`, `.bind(this)`, method of the class without a call, and bare `this`.
 *
 * Not a part: the platform (node, the editor, the DOM, libraries), and a subscription: a call whose result can only be disposed. There the part
 * knows nothing of who listens. A function that is called and done (a `map`, a predicate) keeps nothing.
 */

/** What is handed over, as the source says it, each with its line. */
export function closuresOf({ node, types }: OwnClass): readonly string[] {
  const given = new Given(node);
  const found: string[] = [];
  const note = (one: Node, closures: readonly Node[]): void => {
    const line = one.getSourceFile().getLineAndCharacterOfPosition(one.getStart()).line + 1;
    for (const closure of closures) found.push(`${line}: ${closure.getText().replace(/\s+/g, ' ').slice(0, 80)}`);
  };
  const visit = (one: Node): void => {
    if (one !== node && (isClassDeclaration(one) || isClassExpression(one))) return;
    if (isNewExpression(one) || isCallExpression(one)) {
      const closures = (one.arguments ?? []).flatMap((argument) => given.closuresIn(argument));
      if (closures.length > 0 && makesPart(one, node, types)) note(one, closures);
    }
    const through = givenToPart(one, types);
    if (through.length > 0)
      note(
        one,
        through.flatMap((value) => given.closuresIn(value)),
      );
    one.forEachChild(visit);
  };
  visit(node);
  return found;
}

/**
 * What is handed to a part that is there already: assigned to its member, put into a collection of it, or passed to a method that returns nothing (a method that returns something
 * subscribes, or calls and is done).
 */
function givenToPart(node: Node, types: Types): readonly Node[] {
  if (isBinaryExpression(node) && isAssignment(node.operatorToken.kind)) {
    const { left, right } = node;
    return isPropertyAccessExpression(left) && isInHeldPart(left.expression, types) ? [right] : [];
  }
  if (!isCallExpression(node) || !isPropertyAccessExpression(node.expression)) return [];
  const { expression: part, name } = node.expression;
  if (FILLING.has(name.text) && isPropertyAccessExpression(part) && isInHeldPart(part.expression, types)) return node.arguments;
  const returnsNothing = types.checker.typeToString(types.checker.getTypeAtLocation(node) as Type) === 'void';
  return returnsNothing && isHeldPart(part, types) ? node.arguments : [];
}

/** A field of the class, or something in it, that is an object of a class of the project; a `Lifetime` runs what it is given once, at the end. */
function isHeldPart(node: Node, types: Types): boolean {
  if (!isOfThis(node)) return false;
  const type = types.checker.getTypeAtLocation(node);
  const declared = types.ownDeclaration(type?.getSymbol());
  return declared !== undefined && isClassDeclaration(declared) && declared.name?.text !== 'Lifetime';
}

/** A part, or something in it: `this.#part.hooks`. */
function isInHeldPart(node: Node, types: Types): boolean {
  return isHeldPart(node, types) || (isPropertyAccessExpression(node) && isInHeldPart(node.expression, types));
}

type Making = NewExpression | CallExpression;

function makesPart(making: Making, owner: ClassNode, types: Types): boolean {
  const callee = making.expression;
  const name = isPropertyAccessExpression(callee) ? callee.name : callee;
  if (!types.ownDeclaration(types.symbolAt(name))) return false;
  return isNewExpression(making) || (isKept(making, owner) && isPart(types.checker.getTypeAtLocation(making), types));
}

/** An object with methods, other than one that can only be disposed; also one that is promised. */
function isPart(type: Type | undefined, types: Types): boolean {
  if (!type) return false;
  const { checker } = types;
  if (type.isUnionType()) return (type.getTypes() ?? []).some((one) => isPart(one, types));
  if (!type.isObjectType() || checker.isArrayLikeType(type)) return false;
  if (type.isTypeReference() && type.getSymbol()?.name === 'Promise')
    return checker.getTypeArguments(type).some((one) => isPart(one, types));
  const members = checker.getPropertiesOfType(type);
  const isSubscription = members.length === 1 && members[0]?.name === 'dispose';
  const isMethod = (member: TsSymbol) => {
    const of = checker.getTypeOfSymbol(member);
    return of !== undefined && checker.getSignaturesOfType(of, SignatureKind.Call).length > 0;
  };
  return !isSubscription && members.some(isMethod);
}

/** True when the value ends up in a field. */
function isKept(value: Node, owner: ClassNode): boolean {
  const { parent } = value;
  if (isPropertyDeclaration(parent)) return true;
  if (isBinaryExpression(parent) && parent.operatorToken.kind !== SyntaxKind.CommaToken) {
    return isAssignment(parent.operatorToken.kind) ? parent.right === value && isOfThis(parent.left) : isKept(parent, owner);
  }
  if (isVariableDeclaration(parent))
    return isIdentifier(parent.name) && usesOf(parent.name.text, parent, owner).some((use) => isKept(use, owner));
  if (isCallExpression(parent) && parent.expression !== value) return isOfThis(parent.expression) || isKept(parent, owner);
  if (isNewExpression(parent)) return isKept(parent, owner);
  return PASSING.some((passes) => passes(parent)) && isKept(parent, owner);
}
const PASSING: readonly ((node: Node) => boolean)[] = [
  isAwaitExpression,
  isParenthesizedExpression,
  isAsExpression,
  isNonNullExpression,
  isConditionalExpression,
  isObjectLiteralExpression,
  isPropertyAssignment,
  isShorthandPropertyAssignment,
  isSpreadAssignment,
  isArrayLiteralExpression,
  isSpreadElement,
];
const isAssignment = (kind: SyntaxKind): boolean => kind >= SyntaxKind.FirstAssignment && kind <= SyntaxKind.LastAssignment;

/** `this.#a`, `this.#a.b`: a field, or something in it, but not a method of the class itself. */
function isOfThis(node: Node): boolean {
  if (!isPropertyAccessExpression(node)) return false;
  return node.expression.kind === SyntaxKind.ThisKeyword || isOfThis(node.expression);
}

/** Where a variable is used behind its declaration, by its name. */
function usesOf(name: string, declaration: Node, owner: ClassNode): readonly Node[] {
  const found: Node[] = [];
  const visit = (node: Node): void => {
    const isItsOwn = isIdentifier(node) && node.text === name && node.pos > declaration.pos && node.parent !== declaration;
    if (isItsOwn && !(isPropertyAccessExpression(node.parent) && node.parent.name === node)) found.push(node);
    node.forEachChild(visit);
  };
  scopeOf(declaration, owner).forEachChild(visit);
  return found;
}

/** The member of the class around a node. */
function scopeOf(node: Node, owner: ClassNode): Node {
  let at = node;
  while (at.parent !== owner) at = at.parent;
  return at;
}

/** What is in an argument, as far as the class itself says. */
class Given {
  readonly #owner: ClassNode;
  readonly #methods = new Map<string, Node>();
  readonly #variables: { readonly name: string; readonly scope: Node; readonly value: Node }[] = [];

  constructor(owner: ClassNode) {
    this.#owner = owner;
    for (const member of owner.members) {
      const isFunction = isPropertyDeclaration(member) && member.initializer !== undefined && isArrowFunction(member.initializer);
      if (isMethodDeclaration(member) || (isPropertyDeclaration(member) && isFunction)) this.#methods.set(member.name.getText(), member);
    }
    const visit = (node: Node): void => {
      if (isVariableDeclaration(node) && node.initializer && isIdentifier(node.name)) {
        this.#variables.push({ name: node.name.text, scope: scopeOf(node, owner), value: node.initializer });
      }
      node.forEachChild(visit);
    };
    visit(owner);
  }

  closuresIn(given: Node, seen: readonly Node[] = []): readonly Node[] {
    if (seen.includes(given)) return [];
    const inside = (node: Node): readonly Node[] => this.closuresIn(node, [...seen, given]);
    if (given.kind === SyntaxKind.ThisKeyword) return [given];
    if (isArrowFunction(given)) return this.#usesThis(given) ? [given] : [];
    // Its own `this` is another; the class is reached by a variable.
    if (isFunctionExpression(given) || LITERAL_MEMBERS.some((is) => is(given))) return this.#usesVariable(given) ? [given] : [];
    if (isIdentifier(given)) return this.#valuesOf(given).flatMap(inside);
    if (isShorthandPropertyAssignment(given)) return isIdentifier(given.name) ? this.#valuesOf(given.name).flatMap(inside) : [];
    if (isPropertyAssignment(given)) return inside(given.initializer);
    if (isPropertyAccessExpression(given)) {
      return given.expression.kind === SyntaxKind.ThisKeyword && this.#methods.has(given.name.text) ? [given] : [];
    }
    if (isCallExpression(given)) {
      const { expression: callee } = given;
      if (!isPropertyAccessExpression(callee)) return [];
      if (callee.name.text === 'bind' && given.arguments[0]?.kind === SyntaxKind.ThisKeyword) return [given];
      const method = callee.expression.kind === SyntaxKind.ThisKeyword ? this.#methods.get(callee.name.text) : undefined;
      return method ? returnedBy(method).flatMap(inside) : [];
    }
    if (isNewExpression(given)) return [];
    const found: Node[] = [];
    given.forEachChild((child) => void found.push(...inside(child)));
    return found;
  }

  /** Also by way of another function of the same member. */
  #usesThis(node: Node, seen: readonly Node[] = []): boolean {
    if (isThis(node)) return true;
    if (seen.includes(node) || isFunctionExpression(node) || isFunctionDeclaration(node) || isClassExpression(node)) return false;
    const called = isIdentifier(node) ? this.#valuesOf(node).filter((value) => isArrowFunction(value) || isThis(value)) : [];
    if (called.some((value) => this.#usesThis(value, [...seen, node]))) return true;
    return node.forEachChild((child) => this.#usesThis(child, [...seen, node]) || undefined) ?? false;
  }

  /** By a variable that stands for `this` or for a function that uses it. */
  #usesVariable(node: Node): boolean {
    const values = isIdentifier(node) ? this.#valuesOf(node).filter((value) => isArrowFunction(value) || isThis(value)) : [];
    return values.some((value) => this.#usesThis(value)) || (node.forEachChild((child) => this.#usesVariable(child) || undefined) ?? false);
  }

  /** The function, object or `this` that a variable of the same member stands for. */
  #valuesOf({ text, parent }: Node & { readonly text: string }): readonly Node[] {
    const scope = scopeOf(parent, this.#owner);
    return this.#variables
      .filter(({ name, scope: around, value }) => name === text && around === scope && HANDED.some((is) => is(value)))
      .map(({ value }) => value);
  }
}
const LITERAL_MEMBERS: readonly ((node: Node) => boolean)[] = [isMethodDeclaration, isGetAccessorDeclaration, isSetAccessorDeclaration];
const isThis = (node: Node): boolean => node.kind === SyntaxKind.ThisKeyword;
const HANDED: readonly ((node: Node) => boolean)[] = [
  isArrowFunction,
  isObjectLiteralExpression,
  isArrayLiteralExpression,
  isCallExpression,
  isPropertyAccessExpression,
  isThis,
];

/** What a method returns. */
function returnedBy(method: Node): readonly Node[] {
  const found: Node[] = [];
  const visit = (node: Node): void => {
    if (isReturnStatement(node) && node.expression) found.push(node.expression);
    if (!isArrowFunction(node)) node.forEachChild(visit);
  };
  method.forEachChild(visit);
  return found;
}

/*
 * What changes in a class: fields that are assigned, collections that are filled, and what the class changes in an object that a field holds. Of an
 * interface or object type of the project of which it changes any member, every member counts that is not `readonly` or is a collection (of a union,
 * those of its largest member); of a class, the public fields that it assigns. A variable around the class that it assigns counts as a field. The state of a machine (`Step`, src/conversation/step.ts) does not
 * count: it is one JSON value, declared in one place, which the driver keeps.
 */

/** What changes, by name: `#count`, `#past.asks`. */
export function changingIn({ node, types }: OwnClass): readonly string[] {
  const isMachine = extendsStep(node, types);
  const changed = changesThroughFields(node);
  return node.members
    .flatMap((member) => {
      if (!isPropertyDeclaration(member) || hasModifier(member, SyntaxKind.StaticKeyword)) return [];
      const name = member.name.getText();
      if (isMachine && name === 'state') return [];
      const isAssigned = !hasModifier(member, SyntaxKind.ReadonlyKeyword) || isCollection(member.initializer);
      const inner = changed.get(name);
      const held = inner ? changingMembers(types.checker.getTypeAtLocation(member.name), inner, types) : [];
      return [...(isAssigned ? [name] : []), ...held.map((one) => `${name}.${one}`)];
    })
    .concat(variablesChangedIn(node));
}

/** Variables around the class, of its module or of a function that it is declared in, that it assigns. */
function variablesChangedIn(owner: ClassNode): readonly string[] {
  const around = new Set<string>();
  for (let at: Node | undefined = owner.parent; at; at = at.parent) {
    if (!('statements' in at)) continue;
    at.forEachChild((statement) => {
      if (!isVariableStatement(statement) || !statement.declarationList.getText().startsWith('let')) return;
      for (const { name } of statement.declarationList.declarations) if (isIdentifier(name)) around.add(name.text);
    });
  }
  const found = new Set<string>();
  const changes = (target: Node): void => {
    if (isIdentifier(target) && around.has(target.text)) found.add(target.text);
  };
  const visit = (node: Node): void => {
    if (isBinaryExpression(node) && isAssignment(node.operatorToken.kind)) changes(node.left);
    if (isPostfixUnaryExpression(node) || (isPrefixUnaryExpression(node) && COUNTING.includes(node.operator))) changes(node.operand);
    node.forEachChild(visit);
  };
  if (around.size > 0) visit(owner);
  return [...found];
}

function changingMembers(type: Type | undefined, changed: ReadonlySet<string>, types: Types): readonly string[] {
  if (!type) return [];
  if (type.isUnionType()) {
    const each = (type.getTypes() ?? []).map((one) => changingMembers(one, changed, types));
    return each.reduce((most, one) => (one.length > most.length ? one : most), []);
  }
  if (!type.isObjectType() || !types.ownDeclaration(type.getSymbol())) return [];
  return types.checker.getPropertiesOfType(type).flatMap((symbol) => {
    const member = types.ownDeclaration(symbol);
    if (!member) return [];
    if (isPropertyAssignment(member) || isPropertyDeclaration(member)) return changed.has(symbol.name) ? [symbol.name] : [];
    if (!isPropertySignatureDeclaration(member)) return [];
    const isAssigned = !hasModifier(member, SyntaxKind.ReadonlyKeyword);
    return isAssigned || (member.type && COLLECTION.test(member.type.getText())) ? [symbol.name] : [];
  });
}

/** By the name of a field: the members of what it holds that the class assigns or fills, also by way of a variable. */
function changesThroughFields(owner: ClassNode): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  const aliases = new Map<Node, Map<string, string>>();
  const fieldOf = (held: Node): string | undefined => {
    if (isPropertyAccessExpression(held) && isThis(held.expression)) return held.name.text;
    return isIdentifier(held) ? aliases.get(scopeOf(held, owner))?.get(held.text) : undefined;
  };
  const changes = (target: Node): void => {
    if (isArrayLiteralExpression(target)) return void target.forEachChild(changes);
    if (!isPropertyAccessExpression(target)) return;
    const field = fieldOf(target.expression);
    if (field !== undefined) found.set(field, (found.get(field) ?? new Set()).add(target.name.text));
  };
  const visit = (node: Node): void => {
    if (isVariableDeclaration(node) && isIdentifier(node.name) && node.initializer) {
      const field = fieldOf(node.initializer);
      const scope = scopeOf(node, owner);
      if (field !== undefined) aliases.set(scope, (aliases.get(scope) ?? new Map<string, string>()).set(node.name.text, field));
    }
    if (isBinaryExpression(node) && isAssignment(node.operatorToken.kind)) changes(node.left);
    if (isPostfixUnaryExpression(node) || (isPrefixUnaryExpression(node) && COUNTING.includes(node.operator))) changes(node.operand);
    if (isCallExpression(node) && isPropertyAccessExpression(node.expression) && FILLING.has(node.expression.name.text)) {
      changes(node.expression.expression);
    }
    node.forEachChild(visit);
  };
  owner.forEachChild(visit);
  return found;
}
const COUNTING: readonly SyntaxKind[] = [SyntaxKind.PlusPlusToken, SyntaxKind.MinusMinusToken];
const FILLING = new Set(['push', 'unshift', 'pop', 'shift', 'splice', 'set', 'add', 'delete', 'clear']);
const COLLECTION = /^(?:Map|Set|WeakMap|Array)<|^(?!readonly\b).*\[\]$/;

function hasModifier(node: PropertyDeclaration | PropertySignatureDeclaration, kind: SyntaxKind): boolean {
  return node.modifiers?.some((modifier) => modifier.kind === kind) ?? false;
}
function isCollection(value: Node | undefined): boolean {
  if (!value) return false;
  return isNewExpression(value) ? /^(?:Map|Set|WeakMap)$/.test(value.expression.getText()) : isArrayLiteralExpression(value);
}
function extendsStep(node: ClassNode, types: Types): boolean {
  const [base] = node.heritageClauses?.find(({ token }) => token === SyntaxKind.ExtendsKeyword)?.types ?? [];
  if (!base) return node.name?.text === 'Step';
  const above = types.ownDeclaration(types.symbolAt(base.expression));
  return above !== undefined && isClassDeclaration(above) && extendsStep(above, types);
}

/*
 * Collaborators of a class: fields that hold objects of other classes, by the type that they are given, by the class that `new` names, or made by a
 * function or method of the project that returns an object with methods. A field that holds an object of several (an inline type, or an interface that
 * is named Deps or Ports) counts with the objects in it instead. Not seen: functions that are handed over, alone or in such an object.
 */

/** The names of the fields. */
export function collaboratorsIn({ node, types }: OwnClass): readonly string[] {
  return node.members.flatMap((member) => {
    if (!isPropertyDeclaration(member) || hasModifier(member, SyntaxKind.StaticKeyword)) return [];
    const name = member.name.getText();
    if (member.type && SEVERAL.test(member.type.getText())) return partsIn(member, types).map((part) => `${name}.${part}`);
    return holdsPart(member, types) ? [name] : [];
  });
}
const SEVERAL = /^\{|^\w*(?:Deps|Ports)$/;

/** The members of an object that hold objects of other classes. */
function partsIn({ name }: PropertyDeclaration, types: Types): readonly string[] {
  const type = types.checker.getTypeAtLocation(name);
  if (!type) return [];
  return types.checker.getPropertiesOfType(type).flatMap((symbol) => {
    const member = types.ownDeclaration(symbol);
    const isPart = member && isPropertySignatureDeclaration(member) && member.type && isCollaborator(member.type.getText());
    return isPart ? [symbol.name] : [];
  });
}

function holdsPart({ type, initializer }: PropertyDeclaration, types: Types): boolean {
  if (type) return isCollaborator(type.getText());
  if (!initializer) return false;
  if (isNewExpression(initializer)) return isCollaborator(initializer.expression.getText());
  return isCallExpression(initializer) && isFactory(initializer.expression, types) && isOwnPart(initializer, types);
}

/** A function of the project; what `this.#life.own(…)` passes on is none of its making. */
function isFactory(callee: Node, types: Types): boolean {
  if (isOfThis(callee)) return false;
  return types.ownDeclaration(types.symbolAt(isPropertyAccessExpression(callee) ? callee.name : callee)) !== undefined;
}

/** An object with methods, of a class or interface of the project. */
function isOwnPart(value: Node, types: Types): boolean {
  const type = types.checker.getTypeAtLocation(value);
  return isPart(type, types) && types.ownDeclaration(type?.getSymbol()) !== undefined;
}
const isCollaborator = (type: string): boolean => /^[A-Z]/.test(type) && !PLAIN.test(type);
const PLAIN =
  /^(?:Map|Set|Array|Promise|Record|Readonly|Readonly\w+|Iterable|WeakMap|Buffer|Date|NodeJS|Uint8Array|AbortController|AbortSignal|Error|RegExp|Partial)\b/;
