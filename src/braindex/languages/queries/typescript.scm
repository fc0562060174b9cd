; Class fields: a function is a method, anything else a property.
(public_field_definition
  name: (_) @name
  value: [(arrow_function) (function_expression)] @value) @definition.method
(public_field_definition name: (_) @name) @definition.property

; Types.
(interface_declaration name: (_) @name) @definition.interface
(type_alias_declaration name: (_) @name) @definition.type
(enum_declaration name: (_) @name) @definition.enum
(abstract_class_declaration name: (_) @name) @definition.class
(internal_module name: (_) @name) @definition.namespace
(module name: (_) @name) @definition.namespace
(ambient_declaration (statement_block) @body (#set! name "global")) @definition.namespace
(ambient_declaration (_) @wrapped) @span

; Signatures without a body: overloads, abstract methods, declarations, members of interfaces.
(function_signature name: (_) @name) @definition.function
(abstract_method_signature "get" name: (_) @name) @definition.getter
(abstract_method_signature "set" name: (_) @name) @definition.setter
(abstract_method_signature name: (_) @name) @definition.method
(class_body (method_signature "get" name: (_) @name) @definition.getter)
(class_body (method_signature "set" name: (_) @name) @definition.setter)
(class_body (method_signature name: (_) @name) @definition.method)
(interface_body (method_signature "get" name: (_) @name) @definition.getter)
(interface_body (method_signature "set" name: (_) @name) @definition.setter)
(interface_body (method_signature name: (_) @name) @definition.method)
(ambient_declaration
  (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable) @span)
(ambient_declaration
  (variable_declaration (variable_declarator name: (identifier) @name) @definition.variable) @span)

(extends_clause value: [(identifier) @reference.base (member_expression property: (property_identifier) @reference.base)])
(implements_clause
  [(type_identifier) @reference.base
   (nested_type_identifier name: (type_identifier) @reference.base)
   (generic_type name:
     [(type_identifier) @reference.base (nested_type_identifier name: (type_identifier) @reference.base)])])
(extends_type_clause type:
  [(type_identifier) @reference.base
   (nested_type_identifier name: (type_identifier) @reference.base)
   (generic_type name:
     [(type_identifier) @reference.base (nested_type_identifier name: (type_identifier) @reference.base)])])

; What is said of a type does not change what is called: `f!()`, `(f as F)()`.
(call_expression function:
  [(non_null_expression
     [(identifier) @reference.call (member_expression property: (property_identifier) @reference.call)])
   (parenthesized_expression (as_expression .
     [(identifier) @reference.call (member_expression property: (property_identifier) @reference.call)]))])
