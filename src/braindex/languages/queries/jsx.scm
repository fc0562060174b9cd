; A component is used by its name, which is capitalised; other elements are HTML's.
([(jsx_opening_element name:
     [(identifier) @reference.call (member_expression property: (property_identifier) @reference.call)])
  (jsx_self_closing_element name:
     [(identifier) @reference.call (member_expression property: (property_identifier) @reference.call)])]
  (#match? @reference.call "^[A-Z]"))
