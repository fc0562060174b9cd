; What JavaScript and TypeScript write the same way.
(comment) @comment
(decorator) @decorator

; What stands around a definition.
(export_statement declaration: (_) @wrapped) @span
(lexical_declaration
  (variable_declarator
    value: [(arrow_function) (function_expression) (generator_function) (class) (call_expression)]) @wrapped) @span
(variable_declaration
  (variable_declarator
    value: [(arrow_function) (function_expression) (generator_function) (class) (call_expression)]) @wrapped) @span
(expression_statement
  (assignment_expression
    right: [(arrow_function) (function_expression) (generator_function) (class) (assignment_expression)]) @wrapped) @span

; An import by call defines nothing here.
(variable_declarator
  value: [
    (call_expression function: (identifier) @_function)
    (member_expression object: (call_expression function: (identifier) @_function))
  ]
  (#eq? @_function "require")) @skip

; Declarations.
(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(class_declaration name: (_) @name) @definition.class

; Functions and classes bound to a name.
(variable_declarator
  name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)] @value) @definition.function
(variable_declarator name: (identifier) @name value: (class) @value) @definition.class
(variable_declarator
  name: (identifier) @name
  value: (call_expression
    function: [(identifier) @_wrapper (member_expression property: (property_identifier) @_wrapper)]
    arguments: (arguments . [(arrow_function) (function_expression) (generator_function)] @value))
  (#any-of? @_wrapper "memo" "forwardRef" "observer" "useCallback")) @definition.function

; Functions and classes assigned to a member.
(assignment_expression
  left: (member_expression
    object: (member_expression property: (property_identifier) @_prototype) @owner
    property: (_) @name)
  right: [(arrow_function) (function_expression) (generator_function)] @value
  (#eq? @_prototype "prototype")) @definition.method
(assignment_expression
  left: (member_expression object: (identifier) @_module property: (_) @_exports)
  right: (function_expression name: (identifier) @name) @value
  (#eq? @_module "module") (#eq? @_exports "exports")) @definition.function
(assignment_expression
  left: (member_expression object: (identifier) @_module property: (_) @_exports) @name
  right: [(arrow_function) (function_expression) (generator_function)] @value
  (#eq? @_module "module") (#eq? @_exports "exports")) @definition.function
(assignment_expression
  left: (member_expression object: (identifier) @_module property: (_) @_exports)
  right: (class name: (_) @name) @value
  (#eq? @_module "module") (#eq? @_exports "exports")) @definition.class
(assignment_expression
  left: (member_expression object: (identifier) @_module property: (_) @_exports) @name
  right: (class) @value
  (#eq? @_module "module") (#eq? @_exports "exports")) @definition.class
(assignment_expression
  left: (member_expression object: (this) @owner property: (_) @name)
  right: [(arrow_function) (function_expression) (generator_function)] @value) @definition.method
(assignment_expression
  left: (member_expression object: (_) @owner property: (_) @name)
  right: [(arrow_function) (function_expression) (generator_function)] @value) @definition.function
(expression_statement
  (assignment_expression
    left: (member_expression object: (_) @owner property: (_) @name)
    right: (assignment_expression right: (function_expression) @value)) @definition.function)
(assignment_expression
  left: (member_expression object: (_) @owner property: (_) @name)
  right: (class) @value) @definition.class
(assignment_expression
  left: (identifier) @name
  right: [(arrow_function) (function_expression)] @value) @definition.function

; Members of a prototype written as one object.
(assignment_expression
  left: (member_expression object: (_) @owner property: (_) @_prototype)
  right: (object
    (pair
      key: [(property_identifier) (string)] @name
      value: [(arrow_function) (function_expression)] @value) @definition.method)
  (#eq? @_prototype "prototype"))
(assignment_expression
  left: (member_expression object: (_) @owner property: (_) @_prototype)
  right: (object (method_definition name: (_) @name) @definition.method)
  (#eq? @_prototype "prototype"))

; Members of classes and objects.
(method_definition "get" name: (_) @name) @definition.getter
(method_definition "set" name: (_) @name) @definition.setter
(method_definition name: (_) @name) @definition.method
(pair
  key: [(property_identifier) (string)] @name
  value: [(arrow_function) (function_expression) (generator_function)] @value) @definition.method

; Functions and classes inside expressions that carry a name of their own, and what a module exports without one.
(function_expression name: (identifier) @name) @definition.function
(generator_function name: (identifier) @name) @definition.function
(class name: (_) @name) @definition.class
(export_statement
  value: [(arrow_function) (function_expression) (generator_function)] @definition.function
  (#set! name "default")) @span
(export_statement value: (class) @definition.class (#set! name "default")) @span

; Variables of a module; of what is local, only a module made by calling a function at once.
(program (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable) @span)
(program (variable_declaration (variable_declarator name: (identifier) @name) @definition.variable) @span)
(export_statement
  (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable) @span)
(export_statement
  (variable_declaration (variable_declarator name: (identifier) @name) @definition.variable) @span)
(variable_declarator
  name: (identifier) @name
  value: [
    (call_expression function: (parenthesized_expression [(function_expression) (arrow_function) (generator_function)]))
    (parenthesized_expression (call_expression function: [(function_expression) (generator_function)]))
  ]) @definition.variable

; What it refers to, by name. `a.call(b)` and `a.apply(b)` call `a`.
(call_expression function:
  [(identifier) @reference.call
   (member_expression property: [(property_identifier) (private_property_identifier)] @reference.call)
   (parenthesized_expression
     [(identifier) @reference.call (member_expression property: (property_identifier) @reference.call)])])
(call_expression function: (member_expression
  object: [(identifier) @reference.call (member_expression property: (property_identifier) @reference.call)]
  property: (property_identifier) @_through)
  (#any-of? @_through "call" "apply"))
(new_expression constructor:
  [(identifier) @reference.call
   (member_expression property: (property_identifier) @reference.call)
   (parenthesized_expression
     [(identifier) @reference.call (member_expression property: (property_identifier) @reference.call)])])
(decorator [(identifier) @reference.call (member_expression property: (property_identifier) @reference.call)])
(import_specifier name: (_) @reference.import)
(import_clause (identifier) @reference.import)
(import_statement source: (string) @reference.import)
(export_statement source: (string) @reference.import)
(export_statement (export_clause (export_specifier name: (_) @reference.import)) source: (string))
(call_expression function: [(identifier) (import)] @_function arguments: (arguments . (string) @reference.import)
  (#any-of? @_function "require" "import"))
(variable_declarator
  name: (object_pattern
    [(shorthand_property_identifier_pattern) @reference.import
     (pair_pattern key: (property_identifier) @reference.import)])
  value: (call_expression function: (identifier) @_function)
  (#eq? @_function "require"))
