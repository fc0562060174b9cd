(comment) @comment

; An element with an id is known by it.
((element
  . [(start_tag (attribute (attribute_name) @_id
     [(attribute_value) @name (quoted_attribute_value (attribute_value) @name)])) @signature
   (self_closing_tag (attribute (attribute_name) @_id
     [(attribute_value) @name (quoted_attribute_value (attribute_value) @name)])) @signature]) @definition.element
  (#any-of? @_id "id" "ID" "Id")
  (#set! prefix "#"))

; Headings and the title are known by their text.
((element . (start_tag (tag_name) @_tag) @definition.heading @signature) @span @name
  (#any-of? @_tag "h1" "h2" "h3" "h4" "h5" "h6" "H1" "H2" "H3" "H4" "H5" "H6")
  (#set! leaf "yes"))
((element . (start_tag (tag_name) @_tag) @signature) @definition.element @name
  (#any-of? @_tag "title" "TITLE")
  (#set! leaf "yes"))

; Landmarks, forms and the like are known by their tag.
((element . (start_tag (tag_name) @_tag @name) @signature) @definition.element
  (#any-of? @_tag
    "main" "nav" "header" "footer" "aside" "section" "article" "form" "dialog" "template")
  (#set! leaf "yes"))

; So are fields that a form sends, and elements a page defines itself.
((element
  . [(start_tag (tag_name) @_tag @name (attribute (attribute_name) @_field)) @signature
   (self_closing_tag (tag_name) @_tag @name (attribute (attribute_name) @_field)) @signature]) @definition.element
  (#any-of? @_tag "input" "select" "textarea" "button") (#eq? @_field "name")
  (#set! leaf "yes"))
((element
  . [(start_tag (tag_name) @name) @signature
   (self_closing_tag (tag_name) @name) @signature]) @definition.element
  (#match? @name "^[A-Za-z][A-Za-z0-9.]*-")
  (#set! leaf "yes"))

; What is never closed, which is allowed for some, is known by its start.
((ERROR (start_tag (attribute (attribute_name) @_id
     [(attribute_value) @name (quoted_attribute_value (attribute_value) @name)])) @definition.element @signature)
  (#any-of? @_id "id" "ID" "Id")
  (#set! prefix "#") (#set! leaf "yes"))
((ERROR (start_tag (tag_name) @_tag @name) @definition.element @signature)
  (#any-of? @_tag
    "main" "nav" "header" "footer" "aside" "section" "article" "form" "dialog" "template")
  (#set! leaf "yes"))
((ERROR (start_tag (tag_name) @name) @definition.element @signature)
  (#match? @name "^[A-Za-z][A-Za-z0-9.]*-")
  (#set! leaf "yes"))

; Scripts and styles speak for themselves.
((script_element . (start_tag (attribute (attribute_name) @_lang [(attribute_value) @_value (quoted_attribute_value (attribute_value) @_value)]))
  (raw_text) @inject)
  (#eq? @_lang "lang") (#any-of? @_value "ts" "typescript") (#set! inject "typescript"))
((script_element . (start_tag (attribute (attribute_name) @_lang [(attribute_value) @_value (quoted_attribute_value (attribute_value) @_value)]))
  (raw_text) @inject)
  (#eq? @_lang "lang") (#eq? @_value "tsx") (#set! inject "tsx"))
((script_element . (start_tag (attribute (attribute_name) @_type [(attribute_value) @_value (quoted_attribute_value (attribute_value) @_value)]))
  (raw_text) @inject)
  (#eq? @_type "type") (#not-match? @_value "(?i)javascript|ecmascript|module|babel|jsx") (#set! inject ""))
((script_element (raw_text) @inject) (#set! inject "javascript"))
((style_element . (start_tag (attribute (attribute_name) @_lang [(attribute_value) @_value (quoted_attribute_value (attribute_value) @_value)]))
  (raw_text) @inject)
  (#eq? @_lang "lang") (#not-eq? @_value "css") (#set! inject ""))
((style_element (raw_text) @inject) (#set! inject "css"))
