// What the editors begin with.

export const kSchema = `<schema name="harbour">
  <system>You answer from the pages.</system>
  <module name="visitor">The visitor is called <param name="name" len="6"/>.</module>
  <union>
    <module name="summer">The season is summer.</module>
    <module name="winter">The season is winter.</module>
  </union>
  <module name="ferry">The ferry leaves at ten. The ticket costs three euros.</module>
  <module name="tower">The tower has thirty floors. The lift is slow.</module>
</schema>
`;

export const kPrompt = `<prompt schema="harbour">
  <user><visitor name="Nora"/><summer/><ferry/><tower/>When does the ferry leave?</user>
</prompt>
`;
