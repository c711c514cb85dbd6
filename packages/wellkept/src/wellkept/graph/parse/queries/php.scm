[(class_declaration) (enum_declaration)] @class
(interface_declaration) @interface
(trait_declaration) @class
[(function_definition) (method_declaration)] @function
(namespace_use_declaration) @import
[(require_expression) (require_once_expression) (include_expression) (include_once_expression)] @import
(function_call_expression function: [(name) (qualified_name)] @call)
(member_call_expression) @call
(nullsafe_member_call_expression) @call
(scoped_call_expression) @call
(object_creation_expression [(name) (qualified_name)] @call)
(base_clause [(name) (qualified_name)] @extends)
(class_interface_clause [(name) (qualified_name)] @implements)
(use_declaration [(name) (qualified_name)] @extends)
(simple_parameter type: (_)) @bind
(property_promotion_parameter type: (_)) @bind
(property_declaration type: (_) (property_element)) @bind
(assignment_expression left: (variable_name) right: [(object_creation_expression) (member_call_expression) (scoped_call_expression) (function_call_expression)]) @bind
