(function_definition) @function
(class_specifier name: (_) body: (_)) @class
(struct_specifier name: (_) body: (_)) @class
(union_specifier name: (_) body: (_)) @class
(enum_specifier name: (_) body: (_)) @class
(preproc_include) @import
(call_expression function: [(identifier) (field_expression) (qualified_identifier)] @call)
(new_expression type: (_) @call)
(base_class_clause [(type_identifier) (qualified_identifier)] @extends)
(base_class_clause (template_type name: (_) @extends))
(declaration type: [(type_identifier) (qualified_identifier) (placeholder_type_specifier)] declarator: (_)) @bind
(field_declaration type: [(type_identifier) (qualified_identifier)] declarator: (_)) @bind
(parameter_declaration type: [(type_identifier) (qualified_identifier)] declarator: (_)) @bind
