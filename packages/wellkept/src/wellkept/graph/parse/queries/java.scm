[(class_declaration) (record_declaration) (enum_declaration)] @class
[(interface_declaration) (annotation_type_declaration)] @interface
[(method_declaration) (constructor_declaration)] @function
(import_declaration) @import
(method_invocation) @call
(object_creation_expression type: (_) @call)
(superclass (_) @extends)
(super_interfaces (type_list (_) @implements))
(extends_interfaces (type_list (_) @extends))
(local_variable_declaration) @bind
(field_declaration) @bind
(formal_parameter) @bind
