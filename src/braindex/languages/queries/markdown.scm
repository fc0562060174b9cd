; Headings: the level makes the outline. CommonMark 4.2 closes those of one line with any number of signs (`## Name ##`).
((atx_heading (atx_h1_marker) heading_content: (_) @name) @definition.heading (#set! level "1") (#set! closing "#"))
((atx_heading (atx_h2_marker) heading_content: (_) @name) @definition.heading (#set! level "2") (#set! closing "#"))
((atx_heading (atx_h3_marker) heading_content: (_) @name) @definition.heading (#set! level "3") (#set! closing "#"))
((atx_heading (atx_h4_marker) heading_content: (_) @name) @definition.heading (#set! level "4") (#set! closing "#"))
((atx_heading (atx_h5_marker) heading_content: (_) @name) @definition.heading (#set! level "5") (#set! closing "#"))
((atx_heading (atx_h6_marker) heading_content: (_) @name) @definition.heading (#set! level "6") (#set! closing "#"))
((setext_heading heading_content: (_) @name (setext_h1_underline)) @definition.heading (#set! level "1"))
((setext_heading heading_content: (_) @name (setext_h2_underline)) @definition.heading (#set! level "2"))

((minus_metadata) @definition.front-matter (#set! name "front matter"))
((plus_metadata) @definition.front-matter (#set! name "front matter"))

(list_item
  [(task_list_marker_checked) (task_list_marker_unchecked)]
  . (paragraph (inline) @name @signature)) @definition.checklist-item

(fenced_code_block (info_string (language) @name) @signature) @definition.code-block
((fenced_code_block (fenced_code_block_delimiter) @signature) @definition.code-block
  (#set! name "code") (#set! leaf "yes"))
