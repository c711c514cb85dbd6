(function_declaration) @function
(method_declaration) @function
(type_spec type: (interface_type)) @interface
(type_spec type: (struct_type)) @class
(type_spec type: [(type_identifier) (function_type) (map_type) (slice_type) (array_type) (pointer_type) (channel_type) (qualified_type) (generic_type)]) @class
(type_alias) @class
(method_elem) @function
(import_spec) @import
(call_expression function: [(identifier) (selector_expression)] @call)
(composite_literal type: [(type_identifier) (qualified_type)] @call)
(field_declaration !name type: [(type_identifier) (qualified_type)] @extends)
(field_declaration name: (field_identifier) type: (_)) @bind
(parameter_declaration name: (identifier) type: (_)) @bind
(var_spec name: (identifier) type: (_)) @bind
(short_var_declaration left: (expression_list . (identifier)) right: (expression_list . [(composite_literal) (unary_expression) (call_expression)])) @bind
(argument_list [(identifier) (selector_expression)] @handed)
(assignment_statement right: (expression_list [(identifier) (selector_expression)] @handed))
(short_var_declaration right: (expression_list [(identifier) (selector_expression)] @handed))
(return_statement (expression_list [(identifier) (selector_expression)] @handed))
(literal_element [(identifier) (selector_expression)] @handed)
