'use strict'
/** Header of the file. */

const fs = require('fs'), { join } = require('path')
const read = require('fs').readFileSync

/**
 * How long to wait.
 *
 *   - in milliseconds
 * @type {number}
 */
export const MAX_WAIT = 10
let state = { count: 0 }

// Adds two numbers.
// Slowly.
export async function add(a, b = { x: 1 }) {
  const local = 1
  const inner = x => x + local
  return inner(a)
}

export default function () {}

function* ids() { yield 1 }

var twin = function named(a) { return a }, other = () => 1

class Queue extends Base {
  static limit = 5
  #items = []
  handle = (event) => { this.#drop() }
  constructor(size) { super() }
  get size() { return 0 }
  set size(value) {}
  static async *drain() {}
  #drop() {}
  [Symbol.iterator]() {}
}

const api = {
  list(filter) { return [] },
  'remove-all': function () {},
  nested: { deep: async (a, b) => {} },
  get total() { return 1 },
  plain: 1,
}

function Old() {
  this.run = function (times) {}
}
Old.prototype.stop = function stop(now) {}
module.exports = function create(options) {}
exports.parse = exports.read = function (text) {}
app.handle = (req, res) => {}
window.Widget = class Widget { draw() {} }

const Store = (function () {
  function hidden() {}
  var Part = (() => { function piece() {} })()
})()

on('ready', function ready(event) {})

Old.prototype = {
  start: function (at) { function inner() {} },
  pause() {},
}

module.exports = class Depot extends Base { open() {} }
const mixin = (Base) => class Mixed extends Base { mix() {} }
const numbers = (async function* () { yield 1 })()
const guarded = (one) => one

;[1, 2].forEach(guarded)
