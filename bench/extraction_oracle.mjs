// The definitions in JavaScript and TypeScript files, as the TypeScript compiler sees them (for bench/extraction.py).
//
// usage: node extraction_oracle.mjs FOLDER_OF_NODE_MODULES < paths
//
// One path a line in; one JSON object a line out: {"path", "broken", "definitions": [[name, line, endLine, parent]]}.
// Left out, since nobody looks for them by name: local variables that hold no function or class, parameters, enum
// members, signatures inside type literals, properties of interfaces, and object members that are no functions.

import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const ts = createRequire(`${process.argv[2]}/`)('typescript')
const WRAPPERS = new Set(['memo', 'forwardRef', 'observer', 'useCallback'])
const SCRIPT_KINDS = { js: 'JS', mjs: 'JS', cjs: 'JS', jsx: 'JSX', ts: 'TS', mts: 'TS', cts: 'TS', tsx: 'TSX' }

const isFunction = (node) => ts.isArrowFunction(node) || ts.isFunctionExpression(node)
const isBindable = (node) => node !== undefined && (isFunction(node) || ts.isClassExpression(node))

function unquoted(text) {
  return /^(['"`]).+\1$/s.test(text) ? text.slice(1, -1) : text
}

/** What a declaration statement declares: `a` of `const a = …`. */
function isOfModule(declaration) {
  const statement = declaration.parent.parent
  return ts.isVariableStatement(statement) && ts.isSourceFile(statement.parent)
}

const OUTWARD = new Set([ts.SyntaxKind.DeclareKeyword, ts.SyntaxKind.ExportKeyword])

/** Declared or exported, also inside a namespace. */
function isOutward(declaration) {
  const statement = declaration.parent.parent
  return ts.isVariableStatement(statement) && (statement.modifiers ?? []).some((one) => OUTWARD.has(one.kind))
}

/** The function that a wrapper such as `memo(…)` is given, which is what its name stands for. */
function isWrapped(node) {
  if (node === undefined || !ts.isCallExpression(node) || node.arguments.length === 0) return false
  const called = ts.isPropertyAccessExpression(node.expression) ? node.expression.name : node.expression
  return ts.isIdentifier(called) && WRAPPERS.has(called.text) && isFunction(node.arguments[0])
}

/** `(function () { … })()` and its kin: a module that is made by calling a function at once. */
function isCalledAtOnce(node) {
  while (node !== undefined && ts.isParenthesizedExpression(node)) node = node.expression
  if (node === undefined || !ts.isCallExpression(node)) return false
  let called = node.expression
  const inBrackets = ts.isParenthesizedExpression(called) || ts.isParenthesizedExpression(node.parent)
  while (ts.isParenthesizedExpression(called)) called = called.expression
  return inBrackets && isFunction(called)
}

function isRequired(node) {
  if (node === undefined) return false
  const call = ts.isPropertyAccessExpression(node) ? node.expression : node
  return ts.isCallExpression(call) && ts.isIdentifier(call.expression) && call.expression.text === 'require'
}

/** The last part of what a member is assigned to, `prototype` apart: `Foo` of `Foo.prototype.bar`. */
function ownerOf(expression, file) {
  const parts = expression.getText(file).split('.').map((part) => part.trim()).filter((part) => part !== 'prototype')
  return parts.length && !['this', 'self'].includes(parts[0]) ? parts.at(-1) : undefined
}

/** [name, parent or undefined] where an assignment gives a function or class its name. */
function assigned(node, file) {
  const { left, right } = node
  const isChain = ts.isBinaryExpression(right) && right.operatorToken.kind === ts.SyntaxKind.EqualsToken && isFunction(right.right)
  if (!isBindable(right) && !isChain) return undefined
  if (ts.isIdentifier(left)) return isFunction(right) ? [left.text] : undefined
  if (!ts.isPropertyAccessExpression(left)) return undefined
  if (isChain && !ts.isExpressionStatement(node.parent)) return undefined
  const owner = left.expression.getText(file)
  if (owner === 'module' && left.name.text === 'exports' && !isChain) {
    return [right.name?.text ?? 'module.exports']
  }
  return [left.name.text, ownerOf(left.expression, file)]
}

/** [name, parent or undefined] of a definition, undefined for any other node. */
function named(node, file) {
  const name = node.name && unquoted(node.name.getText(file))
  if (ts.isVariableDeclaration(node)) {
    if (!ts.isIdentifier(node.name) || isRequired(node.initializer)) return undefined
    const counts = isBindable(node.initializer) || isWrapped(node.initializer) || isCalledAtOnce(node.initializer)
    return counts || (node.parent.kind === ts.SyntaxKind.VariableDeclarationList && (isOfModule(node) || isOutward(node))) ? [name] : undefined
  }
  if (ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node)) {
    return [name ?? 'default']
  }
  if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isEnumDeclaration(node)) return [name]
  if (ts.isModuleDeclaration(node)) return [name]
  if (ts.isConstructorDeclaration(node)) return ['constructor']
  if (ts.isMethodDeclaration(node) || ts.isAccessor(node) || ts.isPropertyDeclaration(node)) return [name]
  if (ts.isMethodSignature(node)) return ts.isInterfaceDeclaration(node.parent) ? [name] : undefined
  if (ts.isPropertyAssignment(node)) {
    const plain = ts.isIdentifier(node.name) || ts.isStringLiteral(node.name)
    return plain && isFunction(node.initializer) ? [name] : undefined
  }
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken) return assigned(node, file)
  if (ts.isExportAssignment(node) && !node.isExportEquals && isBindable(node.expression)) return [node.expression.name?.text ?? 'default']
  if ((ts.isFunctionExpression(node) || ts.isClassExpression(node)) && node.name && !bindsName(node)) return [name]
  return undefined
}

/** Whether a function or class inside an expression is what a definition around it is bound to. */
function bindsName(node) {
  const { parent } = node
  if (ts.isExportAssignment(parent)) return true
  if (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent) || ts.isPropertyDeclaration(parent)) return parent.initializer === node
  if (ts.isCallExpression(parent) && ts.isVariableDeclaration(parent.parent)) return isWrapped(parent) && parent.arguments[0] === node
  const isAssigned = ts.isBinaryExpression(parent) && parent.right === node && parent.operatorToken.kind === ts.SyntaxKind.EqualsToken
  return isAssigned && (ts.isIdentifier(parent.left) || ts.isPropertyAccessExpression(parent.left))
}

/** Where a definition begins: behind its decorators. */
function startOf(node, file) {
  const decorators = (node.modifiers ?? []).filter((one) => ts.isDecorator(one))
  if (decorators.length === 0) return node.getStart(file)
  return ts.skipTrivia(file.text, decorators.at(-1).end)
}

function definitions(file) {
  const found = []
  const pending = [[file, '']]
  while (pending.length) {
    const [node, parent] = pending.pop()
    let inside = parent
    const mine = named(node, file)
    if (mine !== undefined) {
      const line = file.getLineAndCharacterOfPosition(startOf(node, file)).line + 1
      const end = file.getLineAndCharacterOfPosition(node.getEnd()).line + 1
      found.push([mine[0], line, end, mine[1] ?? parent])
      inside = mine[0]
    }
    ts.forEachChild(node, (child) => void pending.push([child, inside]))
  }
  return found
}

for await (const path of createInterface({ input: process.stdin })) {
  const text = readFileSync(path, 'utf8')
  const kind = ts.ScriptKind[SCRIPT_KINDS[path.split('.').at(-1).toLowerCase()]]
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, kind)
  const broken = file.parseDiagnostics.length > 0
  process.stdout.write(JSON.stringify({ path, broken, definitions: broken ? [] : definitions(file) }) + '\n')
}
