(comment) @comment
(rule_set (selectors) @name (block) @body) @definition.rule
(keyframes_statement (keyframe_block_list) @body) @definition.keyframes
(media_statement (block) @body) @definition.at-rule
(supports_statement (block) @body) @definition.at-rule
(scope_statement (block) @body) @definition.at-rule
(at_rule (block) @body) @definition.at-rule

; Custom properties of the document and of a theme.
((rule_set
  (selectors (pseudo_class_selector (class_name) @_root))
  (block (declaration (property_name) @name) @definition.property))
  (#any-of? @_root "root" "host"))
((at_rule
  (at_keyword) @_theme
  (block (declaration (property_name) @name) @definition.property))
  (#eq? @_theme "@theme"))

(import_statement (string_value) @reference.import)
