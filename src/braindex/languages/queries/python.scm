; Functions and classes, wherever they stand.
(function_definition name: (identifier) @name ":" @stop) @definition.function
(class_definition name: (identifier) @name ":" @stop) @definition.class

(decorated_definition definition: (_) @wrapped) @span
(decorator) @decorator
(comment) @comment
(block . (expression_statement . [(string) (concatenated_string)] @doc .))

; Names bound by a module, also below a condition or a try.
(module
  (expression_statement
    (assignment left: (identifier) @name) @definition.variable))
(module
  [(if_statement
     (block (expression_statement (assignment left: (identifier) @name) @definition.variable)))
   (try_statement
     (block (expression_statement (assignment left: (identifier) @name) @definition.variable)))
   (if_statement
     (_ (block (expression_statement (assignment left: (identifier) @name) @definition.variable))))
   (try_statement
     (_ (block (expression_statement (assignment left: (identifier) @name) @definition.variable))))])
(module (type_alias_statement left: (type [(identifier) @name (generic_type . (identifier) @name)])) @definition.type)

; Constants of a class.
(class_definition
  body: (block
    (expression_statement
      (assignment left: (identifier) @name) @definition.variable))
  (#match? @name "^_*[A-Z][A-Z0-9_]*$"))
(class_definition
  body: (block
    (expression_statement
      (assignment left: (identifier) @name type: (type) @_type) @definition.variable))
  (#match? @_type "^(typing\\.|t\\.|typing_extensions\\.)?(Final|TypeAlias)"))

; What it refers to, by name.
(call function: [(identifier) @reference.call (attribute attribute: (identifier) @reference.call)])
(decorator [(identifier) @reference.call (attribute attribute: (identifier) @reference.call)])
(class_definition superclasses: (argument_list
  [(identifier) @reference.base
   (attribute attribute: (identifier) @reference.base)
   (subscript value: (identifier) @reference.base)
   (subscript value: (attribute attribute: (identifier) @reference.base))]))
(import_statement name: [(dotted_name) @reference.import (aliased_import name: (dotted_name) @reference.import)])
(import_from_statement
  module_name: [(dotted_name) @reference.import (relative_import (dotted_name) @reference.import)])
(import_from_statement name: [(dotted_name) @reference.import (aliased_import name: (dotted_name) @reference.import)])
