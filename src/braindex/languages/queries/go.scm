(comment) @comment

; A group declares many: `const ( … )`, `type ( … )`.
(type_declaration [(type_spec) (type_alias)] @wrapped) @span
(const_declaration (const_spec) @wrapped) @span
(var_declaration (var_spec) @wrapped) @span

(function_declaration name: (identifier) @name) @definition.function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @owner
    (generic_type type: (type_identifier) @owner)
    (pointer_type [(type_identifier) @owner (generic_type type: (type_identifier) @owner)])
    (parenthesized_type (pointer_type [(type_identifier) @owner (generic_type type: (type_identifier) @owner)]))]))
  name: (field_identifier) @name) @definition.method
; A function that is kept under a name, wherever that is.
(short_var_declaration
  left: (expression_list . (identifier) @name .)
  right: (expression_list . (func_literal) @value .)) @definition.function
(var_spec .
  name: (identifier) @name @definition.function
  value: (expression_list . (func_literal) @value .)) @span

(type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @body)) @definition.class
(type_spec name: (type_identifier) @name type: (interface_type "{" @stop)) @definition.interface
(type_spec name: (type_identifier) @name) @definition.type
(type_alias name: (type_identifier) @name) @definition.type
(interface_type (method_elem name: (field_identifier) @name) @definition.method)

; What a package declares, each name by itself.
((source_file (const_declaration (const_spec (identifier) @name @definition.constant) @span))
  (#not-eq? @name "_"))
((source_file (var_declaration (var_spec name: (identifier) @name @definition.variable) @span))
  (#not-eq? @name "_"))
((source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name @definition.variable) @span)))
  (#not-eq? @name "_"))

; What it refers to, by name. A generic function that is called with its types written out looks like a conversion.
(call_expression function:
  [(identifier) @reference.call
   (selector_expression field: (field_identifier) @reference.call)
   (parenthesized_expression (identifier) @reference.call)
   (index_expression operand:
     [(identifier) @reference.call (selector_expression field: (field_identifier) @reference.call)])])
(type_conversion_expression type: (generic_type type:
  [(type_identifier) @reference.call (qualified_type name: (type_identifier) @reference.call)]))

; An instance of a type is a call of it, and so is a list or a map of instances.
(composite_literal type:
  [(type_identifier) @reference.call
   (qualified_type name: (type_identifier) @reference.call)
   (generic_type type: [(type_identifier) @reference.call (qualified_type name: (type_identifier) @reference.call)])])
(composite_literal type:
  [(_ element:
     [(type_identifier) @reference.call
      (qualified_type name: (type_identifier) @reference.call)
      (generic_type type: [(type_identifier) @reference.call (qualified_type name: (type_identifier) @reference.call)])
      (pointer_type (type_identifier) @reference.call)
      (pointer_type (qualified_type name: (type_identifier) @reference.call))
      (pointer_type (generic_type type:
        [(type_identifier) @reference.call (qualified_type name: (type_identifier) @reference.call)]))])
   (map_type value:
     [(type_identifier) @reference.call
      (qualified_type name: (type_identifier) @reference.call)
      (generic_type type: [(type_identifier) @reference.call (qualified_type name: (type_identifier) @reference.call)])
      (pointer_type (type_identifier) @reference.call)
      (pointer_type (qualified_type name: (type_identifier) @reference.call))
      (pointer_type (generic_type type:
        [(type_identifier) @reference.call (qualified_type name: (type_identifier) @reference.call)]))])])
((call_expression
  function: (identifier) @_new
  arguments: (argument_list .
    [(type_identifier) @reference.call
     (qualified_type name: (type_identifier) @reference.call)
     (generic_type type: [(type_identifier) @reference.call (qualified_type name: (type_identifier) @reference.call)])]))
  (#eq? @_new "new"))
(import_spec path: (_) @reference.import)

; A struct and an interface derive from what they embed.
(field_declaration
  !name
  type:
    [(type_identifier) @reference.base
     (qualified_type name: (type_identifier) @reference.base)
     (generic_type type: [(type_identifier) @reference.base (qualified_type name: (type_identifier) @reference.base)])])
(interface_type (type_elem .
  [(type_identifier) @reference.base
   (qualified_type name: (type_identifier) @reference.base)
   (generic_type type: [(type_identifier) @reference.base (qualified_type name: (type_identifier) @reference.base)])] .))
