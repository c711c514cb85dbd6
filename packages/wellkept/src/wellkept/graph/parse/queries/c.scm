(function_definition) @function
(struct_specifier name: (_) body: (_)) @class
(union_specifier name: (_) body: (_)) @class
(enum_specifier name: (_) body: (_)) @class
(type_definition type: (struct_specifier !name) declarator: (type_identifier)) @class
(preproc_include) @import
(call_expression function: [(identifier) (field_expression)] @call)
(parameter_declaration type: (_) declarator: (_)) @bind
