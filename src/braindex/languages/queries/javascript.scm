; Class fields: a function is a method, anything else a property.
(field_definition
  property: (_) @name
  value: [(arrow_function) (function_expression)] @value) @definition.method
(field_definition property: (_) @name) @definition.property

(class_heritage [(identifier) @reference.base (member_expression property: (property_identifier) @reference.base)])
