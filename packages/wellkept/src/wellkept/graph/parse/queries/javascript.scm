(function_declaration) @function
(generator_function_declaration) @function
(method_definition) @function
(variable_declarator name: (identifier) value: [(arrow_function) (function_expression)]) @function
(assignment_expression left: (member_expression) right: [(arrow_function) (function_expression)]) @function
(field_definition property: (property_identifier) value: [(arrow_function) (function_expression)]) @function
(class_declaration) @class
(class) @class
(class_heritage (_) @extends)
(import_statement) @import
(export_statement source: (string)) @import
(call_expression function: (identifier) @_name arguments: (arguments . (comment)* . [(string) (template_string)]) (#eq? @_name "require")) @import
(call_expression function: (import) arguments: (arguments . (comment)* . [(string) (template_string)])) @import
(call_expression function: [(identifier) (member_expression)] @call)
(new_expression constructor: [(identifier) (member_expression)] @call)
(jsx_opening_element name: [(identifier) (member_expression)] @call)
(jsx_self_closing_element name: [(identifier) (member_expression)] @call)
(variable_declarator name: (identifier) value: [(call_expression) (new_expression) (await_expression)]) @bind
(assignment_expression left: (member_expression object: (this)) right: (new_expression)) @bind
(formal_parameters (identifier) @local)
(export_statement) @export
(assignment_expression left: (member_expression)) @export
(variable_declarator name: (identifier) value: (member_expression)) @bound
(arguments [(identifier) (member_expression)] @handed)
(pair value: [(identifier) (member_expression)] @handed)
(variable_declarator value: [(identifier) (member_expression)] @handed)
(assignment_expression right: [(identifier) (member_expression)] @handed)
(return_statement [(identifier) (member_expression)] @handed)
(array [(identifier) (member_expression)] @handed)
(jsx_attribute (jsx_expression [(identifier) (member_expression)] @handed))
