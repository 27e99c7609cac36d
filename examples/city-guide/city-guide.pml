<schema name="city-guide">
  <system>You are a city guide. You answer from the pages.</system>
  <module name="traveller">The traveller is called <param name="name" len="6"/>.</module>
  <union>
    <module name="spring">The season is spring.</module>
    <module name="summer">The season is summer.</module>
    <module name="autumn">The season is autumn.</module>
    <module name="winter">The season is winter.</module>
  </union>
  <module name="oslo" src="docs/oslo.txt"/>
  <module name="lisbon" src="docs/lisbon.txt"/>
  <module name="vienna" src="docs/vienna.txt"/>
  <module name="kyoto" src="docs/kyoto.txt"/>
  <module name="prague" src="docs/prague.txt"/>
  <module name="dublin" src="docs/dublin.txt"/>
  <module name="zurich">
    The zoo of Zurich keeps bears. The school of Zurich teaches music. The tower of Zurich has thirty floors.
    <module name="zurich-food" src="docs/zurich-food.txt"/>
  </module>
</schema>
