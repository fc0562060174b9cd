// The definitions of JavaScript and TypeScript files, as the TypeScript compiler sees them (for bench/extraction.py).
//
// usage: node extraction_oracle.mjs FOLDER_OF_NODE_MODULES < paths
//
// One path a line in; one JSON object a line out:
// {"path", "broken", "definitions": [[kind, name, line, endLine, parent]], "beyond": [[what, name, line]]}
// both in source order. "beyond" is what has a name too, but is not an entity in braindex's sense (see `beyond`).
// A name, a first line behind the decorators and a parent mean here what they mean in domain/entities.py.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const ts = createRequire(`${process.argv[2]}/`)('typescript')
const SCRIPT_KINDS = { js: 'JS', mjs: 'JS', cjs: 'JS', jsx: 'JSX', ts: 'TS', mts: 'TS', cts: 'TS', tsx: 'TSX' }
const WRAPPERS = new Set(['memo', 'forwardRef', 'observer', 'useCallback'])

const KINDS = new Map([
  [ts.SyntaxKind.FunctionDeclaration, 'function'],
  [ts.SyntaxKind.ClassDeclaration, 'class'],
  [ts.SyntaxKind.InterfaceDeclaration, 'interface'],
  [ts.SyntaxKind.TypeAliasDeclaration, 'type'],
  [ts.SyntaxKind.EnumDeclaration, 'enum'],
  [ts.SyntaxKind.ModuleDeclaration, 'namespace'],
  [ts.SyntaxKind.MethodDeclaration, 'method'],
  [ts.SyntaxKind.Constructor, 'constructor'],
  [ts.SyntaxKind.GetAccessor, 'getter'],
  [ts.SyntaxKind.SetAccessor, 'setter'],
])

const isFunction = (node) => ts.isArrowFunction(node) || ts.isFunctionExpression(node)
const isAssignment = (node) => ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken
const unquoted = (text) => (/^(['"`]).+\1$/s.test(text) ? text.slice(1, -1) : text)
const has = (node, kind) => (node.modifiers ?? []).some((one) => one.kind === kind)

/** An expression without what stands around it and changes nothing: brackets, `as T`, `satisfies T`, `!`. */
function bare(node) {
  while (ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isSatisfiesExpression(node) || ts.isNonNullExpression(node)) {
    node = node.expression
  }
  return node
}

/** The function or class that an expression stands for: itself, the end of a chain, what a known wrapper is given. */
function meant(node) {
  const value = node && bare(node)
  if (value === undefined) return undefined
  if (isFunction(value) || ts.isClassExpression(value)) return value
  if (isAssignment(value)) return meant(value.right)
  if (!ts.isCallExpression(value) || value.arguments.length === 0) return undefined
  const called = ts.isPropertyAccessExpression(value.expression) ? value.expression.name : value.expression
  const inner = value.arguments[0]
  return ts.isIdentifier(called) && WRAPPERS.has(called.text) && isFunction(inner) ? inner : undefined
}

/** `(function () { … })()` and its kin: a module that is made by calling a function at once. */
function isCalledAtOnce(node) {
  const value = node && bare(node)
  return value !== undefined && ts.isCallExpression(value) && isFunction(bare(value.expression))
}

function isRequired(node) {
  const value = node && bare(node)
  if (value === undefined) return false
  const call = ts.isPropertyAccessExpression(value) ? value.expression : value
  return ts.isCallExpression(call) && ts.isIdentifier(call.expression) && call.expression.text === 'require'
}

/** Seen outside: a module's own, exported or ambient. */
function isOutward(statement) {
  if (!ts.isVariableStatement(statement)) return false
  const isExported = has(statement, ts.SyntaxKind.ExportKeyword) || has(statement, ts.SyntaxKind.DeclareKeyword)
  return ts.isSourceFile(statement.parent) || isExported || (statement.flags & ts.NodeFlags.Ambient) !== 0
}

const valueKind = (node) => (ts.isClassExpression(node) ? 'class' : 'function')

function ofVariable(node) {
  if (isRequired(node.initializer) || !ts.isVariableDeclarationList(node.parent)) return undefined
  const statement = node.parent.parent
  if (!ts.isIdentifier(node.name)) return undefined
  const value = meant(node.initializer)
  if (value !== undefined) return [valueKind(value), node.name.text]
  return isOutward(statement) || isCalledAtOnce(node.initializer) ? ['variable', node.name.text] : undefined
}

/** Members are declared by assigning to them: `exports.x =`, `Foo.prototype.x =`, `this.x =`, `app.x =`. */
function ofAssignment(node, file) {
  const value = meant(node.right)
  if (value === undefined) return undefined
  if (ts.isIdentifier(node.left)) return [valueKind(value), node.left.text]
  if (!ts.isPropertyAccessExpression(node.left)) return undefined
  const owner = node.left.expression.getText(file)
  if (owner === 'module' && node.left.name.text === 'exports') return [valueKind(value), value.name?.text ?? 'module.exports']
  const parts = owner.split('.').map((part) => part.trim())
  const isMember = parts.at(-1) === 'prototype' || owner === 'this'
  const parent = parts[0] === 'this' || parts[0] === 'self' ? undefined : parts.filter((one) => one !== 'prototype').at(-1)
  return [isMember && valueKind(value) === 'function' ? 'method' : valueKind(value), node.left.name.text, parent]
}

function ofMember(node, name) {
  if (ts.isPropertyDeclaration(node)) return [node.initializer && isFunction(bare(node.initializer)) ? 'method' : 'property', name]
  if (ts.isMethodSignature(node)) return ts.isInterfaceDeclaration(node.parent) ? ['method', name] : undefined
  if (!ts.isPropertyAssignment(node) || !(ts.isIdentifier(node.name) || ts.isStringLiteral(node.name))) return undefined
  return isFunction(bare(node.initializer)) ? ['method', name] : undefined
}

/** Whether a function or class is what a definition is bound to: then the name it carries itself is not another one. */
function isBound(node, file) {
  let at = node.parent
  while (bare(at) !== at || (ts.isCallExpression(at) && meant(at) === node)) at = at.parent
  if (ts.isExportAssignment(at)) return true
  if (ts.isPropertyAssignment(at) || ts.isPropertyDeclaration(at)) return bare(at.initializer) === node && definition(at, file) !== undefined
  const value = ts.isVariableDeclaration(at) ? at.initializer : isAssignment(at) ? at.right : undefined
  return value !== undefined && meant(value) === node && definition(at, file) !== undefined
}

/** [kind, name, parent where it is written out] of a definition, undefined for any other node. */
function definition(node, file) {
  if (ts.isVariableDeclaration(node)) return ofVariable(node)
  if (isAssignment(node)) return ofAssignment(node, file)
  if (ts.isExportAssignment(node)) {
    const value = node.isExportEquals ? undefined : bare(node.expression)
    return value && (isFunction(value) || ts.isClassExpression(value)) ? [valueKind(value), value.name?.text ?? 'default'] : undefined
  }
  const name = ts.isConstructorDeclaration(node) ? 'constructor' : node.name && unquoted(node.name.getText(file))
  const kind = KINDS.get(node.kind)
  if (kind !== undefined) return [kind, name ?? 'default']
  if (name === undefined) return undefined
  if (ts.isFunctionExpression(node) || ts.isClassExpression(node)) return isBound(node, file) ? undefined : [valueKind(node), name]
  return ofMember(node, name)
}

/**
 * What carries a name and is not claimed: looked for by what encloses it, or local to a function.
 * Counted, so that the choice can be judged by numbers.
 */
function beyond(node) {
  if (ts.isBindingElement(node) && ts.isIdentifier(node.name)) return isOfModule(node) ? 'unpacked variable' : undefined
  if (ts.isEnumMember(node)) return 'enum member'
  if (ts.isPropertySignature(node)) return ts.isInterfaceDeclaration(node.parent) ? 'interface property' : undefined
  if (ts.isParameter(node)) return ts.isParameterPropertyDeclaration(node, node.parent) ? 'parameter property' : undefined
  if (ts.isPropertyAssignment(node)) return isFunction(bare(node.initializer)) ? 'function under a computed or numeric key' : undefined
  if (isAssignment(node)) return ts.isElementAccessExpression(node.left) && meant(node.right) ? 'function assigned to an index' : undefined
  return undefined
}

/** Whether a name unpacked from a pattern is a module's own: `export const { useQuery } = api`. */
function isOfModule(node) {
  while (!ts.isVariableDeclaration(node)) {
    if (!ts.isBindingElement(node) && !ts.isObjectBindingPattern(node) && !ts.isArrayBindingPattern(node)) return false
    node = node.parent
  }
  return isOutward(node.parent.parent) && !isRequired(node.initializer)
}

/** Where a definition begins: behind its decorators. */
function startOf(node, file) {
  const last = (node.modifiers ?? []).findLast((one) => ts.isDecorator(one))
  return last === undefined ? node.getStart(file) : ts.skipTrivia(file.text, last.end)
}

function read(file) {
  const lineOf = (at) => file.getLineAndCharacterOfPosition(at).line + 1
  const found = []
  const others = []
  const pending = [[file, '']]
  while (pending.length) {
    const [node, parent] = pending.pop()
    let inside = parent
    const mine = definition(node, file)
    if (mine !== undefined) {
      const [kind, name, owner] = mine
      const start = startOf(node, file)
      found.push([start, node.end, [kind, name, lineOf(start), lineOf(node.end), owner ?? parent]])
      inside = name
    } else {
      const what = beyond(node)
      if (what !== undefined) others.push([what, node.name?.getText(file) ?? node.left.getText(file), lineOf(node.getStart(file))])
    }
    ts.forEachChild(node, (child) => void pending.push([child, inside]))
  }
  found.sort(([start, end], [otherStart, otherEnd]) => start - otherStart || otherEnd - end)
  return { definitions: found.map((one) => one[2]), beyond: others.reverse() }
}

for await (const path of createInterface({ input: process.stdin })) {
  const kind = ts.ScriptKind[SCRIPT_KINDS[path.split('.').at(-1).toLowerCase()]]
  const file = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true, kind)
  const broken = file.parseDiagnostics.length > 0
  const known = broken ? { definitions: [], beyond: [] } : read(file)
  process.stdout.write(`${JSON.stringify({ path, broken, ...known })}\n`)
}
